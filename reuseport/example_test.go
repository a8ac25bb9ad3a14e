package reuseport_test

import (
	"fmt"
	"log"

	"github.com/valyala/fasthttp/reuseport"
)

// Two listeners with the same address. They would usually be in two processes.
func ExampleListen() {
	first, err := reuseport.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	defer first.Close()
	second, err := reuseport.Listen("tcp4", first.Addr().String())
	if err != nil {
		log.Fatal(err)
	}
	defer second.Close()
	fmt.Println(first.Addr().String() == second.Addr().String())
	// Output: true
}
