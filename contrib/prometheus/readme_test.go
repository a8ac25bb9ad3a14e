package fasthttpprometheus

import (
	"testing"

	"github.com/valyala/fasthttp/internal/servertest"
)

func TestCodeOfTheReadmeCompiles(t *testing.T) {
	servertest.CheckSnippets(t, "README.md", "example_test.go")
}
