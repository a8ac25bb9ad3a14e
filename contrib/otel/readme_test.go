package otelfasthttp

import (
	"testing"

	"github.com/valyala/fasthttp/internal/servertest"
)

func TestCodeOfTheReadmeCompiles(t *testing.T) {
	servertest.CheckSnippets(t, "README.md", "example_test.go", "../together/fiber2_test.go", "../together/fiber3_test.go")
}
