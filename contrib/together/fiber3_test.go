package together

import (
	"errors"
	"log"
	"net"
	"testing"

	"github.com/gofiber/fiber/v3"
	"github.com/gofiber/fiber/v3/middleware/recover"
	"github.com/valyala/fasthttp"
	otelfasthttp "github.com/valyala/fasthttp/contrib/otel"
	"go.opentelemetry.io/otel/trace"
)

func TestFiber3(t *testing.T) {
	app := fiber.New()
	app.Use(func(c fiber.Ctx) error { return otelfasthttp.Next(c.RequestCtx(), c.Next, c.FullPath) })
	app.Use(recover.New())
	app.Get("/", func(c fiber.Ctx) error { return c.SendString("root") })
	app.Post("/", func(fiber.Ctx) error { return errors.New("broken") })
	app.Patch("/", func(fiber.Ctx) error { return fiber.ErrForbidden })
	app.Get("/users/:id", func(c fiber.Ctx) error { return c.SendString(spanOf(c.RequestCtx())) })
	app.Get("/fails/:id", func(fiber.Ctx) error { return errors.New("broken") })
	app.Get("/panics", func(fiber.Ctx) error { panic("on purpose") })
	app.Get("/named", func(c fiber.Ctx) error {
		otelfasthttp.SetRoute(c.RequestCtx(), "/other")
		return nil
	})
	app.Group("/api").Post("/items/*", func(c fiber.Ctx) error { return c.SendStatus(201) })
	testApp(t, app.Server(), func(ln net.Listener) error {
		return app.Listener(ln, fiber.ListenConfig{DisableStartupMessage: true})
	}, app.Shutdown)
}

// The code of contrib/otel/README.md.
func Example_fiber3() {
	app := fiber.New()
	app.Use(func(c fiber.Ctx) error { return otelfasthttp.Next(c.RequestCtx(), c.Next, c.FullPath) })
	otelfasthttp.Attach(app.Server()) // before app.Listen

	log.Fatal(app.Listen(":8080"))
}

func spanOf(ctx *fasthttp.RequestCtx) string {
	return trace.SpanContextFromContext(ctx).SpanID().String()
}
