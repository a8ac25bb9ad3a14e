package together

import (
	"errors"
	"testing"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/recover"
	otelfasthttp "github.com/valyala/fasthttp/contrib/otel"
)

func TestFiber2(t *testing.T) {
	app := fiber.New(fiber.Config{DisableStartupMessage: true})
	app.Use(func(c *fiber.Ctx) error {
		return otelfasthttp.Next(c.Context(), c.Next, func() string { return c.Route().Path })
	})
	app.Use(recover.New())
	app.Get("/", func(c *fiber.Ctx) error { return c.SendString("root") })
	app.Post("/", func(*fiber.Ctx) error { return errors.New("broken") })
	app.Patch("/", func(*fiber.Ctx) error { return fiber.ErrForbidden })
	app.Get("/users/:id", func(c *fiber.Ctx) error { return c.SendString(spanOf(c.Context())) })
	app.Get("/fails/:id", func(*fiber.Ctx) error { return errors.New("broken") })
	app.Get("/panics", func(*fiber.Ctx) error { panic("on purpose") })
	app.Get("/named", func(c *fiber.Ctx) error {
		otelfasthttp.SetRoute(c.Context(), "/other")
		return nil
	})
	app.Group("/api").Post("/items/*", func(c *fiber.Ctx) error { return c.SendStatus(201) })
	testApp(t, app.Server(), app.Listener, app.Shutdown)
}
