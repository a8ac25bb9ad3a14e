// Package latefiber3 has faults: memory of requests of Fiber v3 that outlives its handler.
package latefiber3

import (
	"bufio"

	"github.com/gofiber/fiber/v3"
)

func use(...any) {}

func goWithContext(c fiber.Ctx) error {
	go func() { // want `c \(fiber.Ctx\) is used by a goroutine`
		use(c.Body())
	}()
	return nil
}

func goWithParam(c fiber.Ctx) error {
	go use(c.Params("id")) // want `the result of Params is used by a goroutine`
	return nil
}

func goWithGeneric(c fiber.Ctx) error {
	go use(fiber.Query[string](c, "q")) // want `the result of Query is used by a goroutine`
	return nil
}

func streams(c fiber.Ctx) error {
	name := c.Query("name")
	return c.SendStreamWriter(func(w *bufio.Writer) { // want `the result of Query is used by the producer of the body`
		w.WriteString(name)
	})
}

func goWithFasthttp(c fiber.Ctx) error {
	ctx := c.RequestCtx()
	go use(ctx) // want `c \(fiber.Ctx\) is used by a goroutine`
	return nil
}
