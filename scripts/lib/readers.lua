-- Clients that ask for one thing over and over; called by fairness.py with the kind of the request.

local heads = { ["Host"] = "127.0.0.1" }

function init(arguments)
  local kind, secret = arguments[1], arguments[2]
  if kind == "pipelined" then
    local one = wrk.format("GET", "/.well-known/jwks.json", heads)
    message = one:rep(16)
  elseif kind == "chunked" then
    heads["Transfer-Encoding"] = "chunked"
    heads["Content-Type"] = "application/x-www-form-urlencoded"
    -- Pieces of one byte: the dearest content for its size.
    message = wrk.format("POST", "/auth/token", heads) .. ("1\r\na\r\n"):rep(400) .. "0\r\n\r\n"
  elseif kind == "introspecting" then
    heads["Authorization"] = secret
    heads["Content-Type"] = "application/x-www-form-urlencoded"
    message = wrk.format("POST", "/auth/introspect", heads, "token=" .. arguments[3])
  elseif kind == "waiting" then
    heads["Authorization"] = secret
    message = wrk.format("GET", "/auth/revocations?wait=5&since=" .. arguments[4], heads)
  elseif kind == "connecting" then
    heads["Connection"] = "close"
    message = wrk.format("GET", "/.well-known/jwks.json", heads)
  else
    message = wrk.format("GET", "/.well-known/jwks.json", heads)
  end
end

function request() return message end

function done(summary, latency, requests)
  print(string.format("reads %d %d %d %d %d", summary.requests, summary.duration,
    latency:percentile(50), latency:percentile(99), summary.errors.read + summary.errors.timeout))
end
