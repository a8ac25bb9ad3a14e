package servertest

import "testing"

func TestFailedPartsOfAnOutput(t *testing.T) {
	const passed = "=== RUN   TestA\n=== RUN   TestA/one\n    a_test.go:1: of one\n=== RUN   TestA/two\n    a_test.go:2: of two\n        on two lines\n"
	for in, want := range map[string]string{
		passed + "=== NAME  TestA\n    a_test.go:3: of all\n--- FAIL: TestA (0.00s)\n    --- PASS: TestA/one (0.00s)\n    --- FAIL: TestA/two (0.00s)\nFAIL\n": "    a_test.go:2: of two\n        on two lines\n    a_test.go:3: of all\n--- FAIL: TestA (0.00s)\n    --- FAIL: TestA/two (0.00s)\nFAIL\n",
		passed + "fatal error: out of memory\n":               passed + "fatal error: out of memory\n",
		passed + "--- FAIL: TestA/two (0.00s)\npanic: here\n": passed + "--- FAIL: TestA/two (0.00s)\npanic: here\n",
	} {
		if got := failedParts(in); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
