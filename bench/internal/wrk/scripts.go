package wrk

import (
	"fmt"
	"slices"
	"strings"
)

// PipelineScript returns a script that sends batches of n requests on each of conns
// connections. The latencies are times of whole batches.
//
// wrk corrects latencies for requests that could not be sent because of a slow response: if
// one takes 10 ms while a connection has a response every 2 ms, it counts 8, 6 and 4 ms as
// well. It uses the pace of single requests for that, but measures batches, so that every
// batch seems late and most figures in the percentiles are invented; some are 0. The script
// undoes the correction. The number C(x) of corrected latencies of x is the number of true
// latencies of x, x+pace, x+2·pace and so on. So the number of true latencies of x is
// C(x)-C(x+pace), and there are as many true ones above x as corrected ones from x to x+pace.
func PipelineScript(n, conns int) string {
	return fmt.Sprintf(`local size = %d
local batch
function init(args)
  local requests = {}
  for i = 1, size do
    requests[i] = wrk.format()
  end
  batch = table.concat(requests)
end
function request()
  return batch
end
`, n) + batchLatency(conns)
}

// SequenceScript returns a script that sends texts in turn, over all connections of a
// thread.
func SequenceScript(texts [][]byte) string {
	var b strings.Builder
	b.WriteString("local texts = {\n")
	for _, text := range texts {
		fmt.Fprintf(&b, "\"%s\",\n", quote.Replace(string(text)))
	}
	b.WriteString(`}
local last = 0
function request()
  last = last % #texts + 1
  return texts[last]
end
`)
	return b.String()
}

// quote escapes a text for a Lua string.
var quote = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\r", `\r`, "\n", `\n`)

// PipelineSequenceScript is PipelineScript with texts in turn. The texts after the last whole
// batch are not sent.
func PipelineSequenceScript(texts [][]byte, n, conns int) string {
	var batches [][]byte
	for ; len(texts) >= n; texts = texts[n:] {
		batches = append(batches, slices.Concat(texts[:n]...))
	}
	return SequenceScript(batches) + batchLatency(conns)
}

// batchLatency returns the part of a script that prints the latencies of batches over
// so many connections, without wrk's correction.
func batchLatency(conns int) string {
	return fmt.Sprintf(`local connections = %d
function done(summary, latency, requests)
  local rounds = math.floor(summary.requests / connections)
  if rounds == 0 then
    return
  end
  local pace = math.floor(summary.duration / rounds)
  -- the percentage of corrected latencies that are x at most
  local function share(x)
    local low, high = 0, 100
    for _ = 1, 50 do
      local middle = (low + high) / 2
      local value = latency:percentile(middle)
      if value > 0 and value <= x then
        low = middle
      else
        high = middle
      end
    end
    return low
  end
  local function over(x)
    return share(x + pace) - share(x)
  end
  -- nothing up to pace was corrected, nor is it found that way
  local least = math.max(latency.min - 1, pace)
  local all = over(least)
  local function percentile(p)
    local low, high = least, math.max(latency.max, least)
    while high - low > 1 do
      local middle = math.floor((low + high) / 2)
      if over(middle) <= all * (1 - p / 100) then
        high = middle
      else
        low = middle
      end
    end
    return high
  end
  print(string.format("Latency of batches: 50%%%% %%dus, 99%%%% %%dus", percentile(50), percentile(99)))
end
`, conns)
}

// ChurnScript returns a script that asks the server to close the connection with every n-th
// request, after which wrk connects anew. Scripts do not know the connection of a request, so
// it is every n-th request of all connections of a thread: a connection carries n requests on
// average.
func ChurnScript(n int) string {
	return fmt.Sprintf(`local count, stay, leave = 0, nil, nil
function init(args)
  stay = wrk.format()
  leave = wrk.format(nil, nil, {["Host"] = wrk.headers["Host"], ["Connection"] = "close"})
end
function request()
  count = count + 1
  if count == %d then
    count = 0
    return leave
  end
  return stay
end
`, n)
}
