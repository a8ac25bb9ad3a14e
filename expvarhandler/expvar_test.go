package expvarhandler

import (
	"encoding/json"
	"expvar"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
)

func init() {
	expvar.NewInt("bridge.crossed").Set(3)
	expvar.NewString("bridge.name").Set("a \"quoted\" name")
	expvar.NewInt("bell\a")
	expvar.NewMap("tolls").Add("lorries", 7)
}

func TestVariablesAreJSON(t *testing.T) {
	ctx := get(t, "/debug/vars")
	if got := string(ctx.Response.Header.ContentType()); got != "application/json; charset=utf-8" {
		t.Errorf("Content-Type is %q", got)
	}
	vars := decode(t, ctx)
	for _, name := range []string{"cmdline", "memstats", "bridge.crossed", "bridge.name", "tolls", "bell\a"} {
		if _, ok := vars[name]; !ok {
			t.Errorf("%s is missing", name)
		}
	}
	for name, want := range map[string]string{
		"bridge.crossed": "3",
		"bridge.name":    `"a \"quoted\" name"`,
		"tolls":          `{"lorries": 7}`,
	} {
		if got := string(vars[name]); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

func TestVariablesAreThoseOfPackageExpvar(t *testing.T) {
	rec := httptest.NewRecorder()
	expvar.Handler().ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/", nil))
	var want map[string]json.RawMessage
	if err := json.Unmarshal(rec.Body.Bytes(), &want); err != nil {
		t.Fatal(err)
	}
	got := decode(t, get(t, "/"))
	if len(got) != len(want) {
		t.Errorf("%d variables, want %d", len(got), len(want))
	}
}

func TestNamesAreFiltered(t *testing.T) {
	tests := []struct {
		expression string
		want       []string
	}{
		{"^bridge", []string{"bridge.crossed", "bridge.name"}},
		{"oll", []string{"tolls"}},
		{"e$|^toll", []string{"bridge.name", "cmdline", "tolls"}},
		{"(?i)TOLLS", []string{"tolls"}},
		{"nothing has this name", nil},
	}
	for _, test := range tests {
		var got []string
		for name := range decode(t, get(t, "/?r="+url.QueryEscape(test.expression))) {
			got = append(got, name)
		}
		slices.Sort(got)
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: got %q, want %q", test.expression, got, test.want)
		}
	}
}

func TestEmptyFilterShowsAll(t *testing.T) {
	if n := len(decode(t, get(t, "/?r="))); n < 5 {
		t.Errorf("only %d variables", n)
	}
}

func TestBadExpressionIsRefused(t *testing.T) {
	ctx := get(t, "/?r=%28")
	if code := ctx.Response.StatusCode(); code != fasthttp.StatusBadRequest {
		t.Errorf("the status is %d", code)
	}
	if body := string(ctx.Response.Body()); !strings.Contains(body, "missing closing )") {
		t.Errorf("the body is %q", body)
	}
}

// TestHandlerCountsItsCalls checks the variables that monitoring reads from programs with
// version 1.77.0.
func TestHandlerCountsItsCalls(t *testing.T) {
	count := func(name string) int {
		t.Helper()
		n, err := strconv.Atoi(string(decode(t, get(t, "/?r=^expvar"))[name]))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return n
	}
	calls, failed := count("expvarHandlerCalls"), count("expvarRegexpErrors")
	get(t, "/?r=%28")
	if got := count("expvarHandlerCalls"); got != calls+3 {
		t.Errorf("after three more calls %d are counted, before %d", got, calls)
	}
	if got := count("expvarRegexpErrors"); got != failed+1 {
		t.Errorf("after one more error %d are counted, before %d", got, failed)
	}
}

func get(t *testing.T, target string) *fasthttp.RequestCtx {
	t.Helper()
	var req fasthttp.Request
	req.SetRequestURI(target)
	ctx := new(fasthttp.RequestCtx)
	ctx.Init(&req, nil, nil)
	ExpvarHandler(ctx)
	return ctx
}

func decode(t *testing.T, ctx *fasthttp.RequestCtx) (vars map[string]json.RawMessage) {
	t.Helper()
	if code := ctx.Response.StatusCode(); code != fasthttp.StatusOK {
		t.Fatalf("the status is %d: %s", code, ctx.Response.Body())
	}
	if err := json.Unmarshal(ctx.Response.Body(), &vars); err != nil {
		t.Fatalf("no JSON object: %v: %s", err, ctx.Response.Body())
	}
	return vars
}
