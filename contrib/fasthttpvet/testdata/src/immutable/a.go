// Package immutable has correct programs with an application of Fiber whose strings are copies.
package immutable

import "github.com/gofiber/fiber/v2"

func use(...any) {}

var last string

func setUp() {
	app := fiber.New(fiber.Config{Immutable: true})
	app.Get("/:id", stores)
	app.Get("/", spawns)
}

func stores(c *fiber.Ctx) error {
	last = c.Params("id")
	return nil
}

func spawns(c *fiber.Ctx) error {
	body := c.Body()
	go use(body)
	return nil
}
