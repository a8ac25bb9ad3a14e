// Package copiedfiber has correct programs with Fiber.
package copiedfiber

import (
	"strings"
	"sync"

	"github.com/gofiber/fiber/v2"
	fiber3 "github.com/gofiber/fiber/v3"
)

func use(...any) {}

var names = map[string]string{}

func clonesKey(c *fiber.Ctx) error {
	names[strings.Clone(c.Params("id"))] = "x"
	return nil
}

func looksUp(c *fiber.Ctx) error {
	return c.SendString(names[c.Params("id")])
}

func deletes(c *fiber.Ctx) error {
	delete(names, c.Params("id"))
	return nil
}

func clones(c *fiber.Ctx) error {
	q := strings.Clone(c.Query("q"))
	go func() { use(q) }()
	return nil
}

func concatenates(c *fiber.Ctx) error {
	key := "user:" + c.Params("id")
	go use(key)
	return nil
}

func address(c *fiber.Ctx) error {
	go use(c.IP(), c.Method())
	return nil
}

func responds(c *fiber.Ctx) error {
	return c.JSON(fiber.Map{"id": c.Params("id"), "q": c.Query("q")})
}

func locals(c *fiber.Ctx) error {
	c.Locals("id", c.Params("id"))
	return c.Next()
}

type user struct{ Name string }

func parsesJSON(c *fiber.Ctx) error {
	var u user
	if err := c.BodyParser(&u); err != nil {
		return err
	}
	go use(u.Name)
	return nil
}

func parsesAndClones(c *fiber.Ctx) error {
	var u user
	if err := c.QueryParser(&u); err != nil {
		return err
	}
	u.Name = strings.Clone(u.Name)
	go use(u.Name)
	return nil
}

func awaits(c *fiber.Ctx) error {
	var wg sync.WaitGroup
	wg.Go(func() { use(c.Query("q")) })
	wg.Wait()
	return nil
}

func counts() fiber.Handler {
	n := 0
	return func(c *fiber.Ctx) error {
		n += len(c.Query("q"))
		return c.Next()
	}
}

func third(c fiber3.Ctx) error {
	id := strings.Clone(c.Params("id"))
	go use(id)
	return c.Next()
}

func thirdContext(c fiber3.Ctx) error {
	go use(c.Context())
	return nil
}

func compares(c *fiber.Ctx) error {
	found := c.Get("X") == "y"
	go use(found)
	return nil
}

func abandons(c fiber3.Ctx) error {
	go func() { use(c.Body()) }()
	c.Abandon()
	return nil
}
