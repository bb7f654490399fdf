# Two stages: the toolchain builds, the image that runs holds the binary and the libraries that it needs.
FROM swift:6.3-bookworm AS build
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends libssl-dev libpq-dev libcurl4-openssl-dev \
        libyaml-dev pkg-config \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY Package.swift ./
COPY Sources Sources
COPY Tests Tests
COPY migrations migrations
RUN swift build -c release --product sallyport && strip .build/release/sallyport

FROM debian:12-slim
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends ca-certificates curl libcurl4 libpq5 \
        libssl3 libyaml-0-2 \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --no-create-home --shell /usr/sbin/nologin sallyport
COPY --from=build /src/.build/release/sallyport /usr/local/bin/sallyport
USER sallyport
ENV SALLYPORT_LISTEN=0.0.0.0:8080
EXPOSE 8080
HEALTHCHECK --interval=5s --timeout=3s --start-period=10s CMD curl -fsS http://127.0.0.1:8080/readyz || exit 1
ENTRYPOINT ["sallyport"]
CMD ["serve"]
