-- auth.lua: has wrk send the requests of a file in turn (t/bench/auth.py).
--   wrk -s auth.lua URL -- FILE METHOD [KEY]
local requests, at = {}, 0

function init(args)
	local headers = {}
	if args[3] then
		headers["Authorization"] = "Bearer " .. args[3]
	end
	for path in io.lines(args[1]) do
		requests[#requests + 1] = wrk.format(args[2], path, headers)
	end
end

function request()
	at = at % #requests + 1
	return requests[at]
end
