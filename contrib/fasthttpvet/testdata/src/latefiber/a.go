// Package latefiber has faults: memory of requests of Fiber v2 that outlives its handler.
package latefiber

import (
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
)

func use(...any) {}

var names = map[string]string{}

func storesParam(c *fiber.Ctx) error {
	names[c.Params("id")] = "x" // want `the result of Params is stored in the global variable names`
	return nil
}

func goWithQuery(c *fiber.Ctx) error {
	q := c.Query("q")
	go func() { // want `the result of Query is used by a goroutine`
		use(q)
	}()
	return nil
}

func goWithContext(c *fiber.Ctx) error {
	go func() { // want `c \(\*fiber.Ctx\) is used by a goroutine`
		use(c.Get("X"))
	}()
	return nil
}

func goWithTrimmed(c *fiber.Ctx) error {
	token := strings.TrimPrefix(c.Get("Authorization"), "Bearer ")
	go use(token) // want `the result of Get is used by a goroutine`
	return nil
}

func goWithFasthttp(c *fiber.Ctx) error {
	go use(c.Context()) // want `c \(\*fiber.Ctx\) is used by a goroutine`
	return nil
}

type user struct {
	Name string `query:"name"`
}

func goWithParsedQuery(c *fiber.Ctx) error {
	var u user
	if err := c.QueryParser(&u); err != nil {
		return err
	}
	go use(u.Name) // want `the result of QueryParser is used by a goroutine`
	return nil
}

func factory() fiber.Handler {
	counts := map[string]int{}
	return func(c *fiber.Ctx) error {
		counts[c.OriginalURL()]++ // want `the result of OriginalURL is stored in counts, which outlives the handler`
		return c.Next()
	}
}

func timer(c *fiber.Ctx) error {
	name := c.FormValue("name")
	time.AfterFunc(time.Second, func() { use(name) }) // want `the result of FormValue is used by a function that AfterFunc may call`
	return nil
}

type users struct{ all []user }

func (s *users) create(c *fiber.Ctx) error {
	s.all = append(s.all, user{Name: c.FormValue("name")}) // want `the result of FormValue is stored in s, which outlives the handler`
	return nil
}

func goWithQueries(c *fiber.Ctx) error {
	all := c.Queries()
	go use(all["a"]) // want `the result of Queries is used by a goroutine`
	return nil
}

func routes(app *fiber.App) {
	var last string
	app.Get("/", func(c *fiber.Ctx) error {
		last = c.Cookies("id") // want `the result of Cookies is stored in last, which outlives the handler`
		return c.SendString("ok")
	})
	use(&last)
}
