-- 16 clients that refresh their tokens over and over: a thread with a connection each. Called by fairness.py with a file
-- of refresh tokens, a line each.

local count = 0

function setup(thread)
  thread:set("number", count)
  count = count + 1
end

function init(arguments)
  local line = 0
  for text in io.lines(arguments[1]) do
    if line == number then token = text end
    line = line + 1
  end
  wrk.headers["Content-Type"] = "application/x-www-form-urlencoded"
end

function request()
  return wrk.format("POST", "/auth/token", nil, "grant_type=refresh_token&refresh_token=" .. token)
end

-- After a failure the same token again: the answer that got lost is repeated.
function response(status, headers, body)
  token = body:match('"refresh_token":"([^"]+)"') or token
end

function done(summary, latency, requests)
  local failures = summary.errors.status + summary.errors.read + summary.errors.write + summary.errors.timeout
  print(string.format("refreshes %d %d %d %d %d", summary.requests, summary.duration,
    latency:percentile(50), latency:percentile(99), failures))
end
