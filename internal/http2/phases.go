package http2

// Greeting is how far the beginning of a connection has come.
type Greeting uint8

const (
	// GreetPreface waits for the preface of a client (RFC 9113 section 3.4).
	GreetPreface Greeting = iota
	// GreetSettings waits for SETTINGS, which must be the first frame.
	GreetSettings
	// GreetAck waits for the acknowledgement of the settings that were sent.
	GreetAck
	// Greeted means that both sides know the settings of the other one.
	Greeted
	greetings
)

// Life is a phase of the life of a connection.
type Life uint8

const (
	// LifeOpen means that streams may begin.
	LifeOpen Life = iota
	// LifeLeaving means that the peer was told that there will be no more streams, and
	// that those which it began before it knew are still served.
	LifeLeaving
	// LifeDraining means that no streams begin any more, and that those which have begun
	// come to their end.
	LifeDraining
	// LifeClosed means that nothing is received any more. What is in the output is still
	// to be written, and has a GOAWAY at its end.
	LifeClosed
	lives
)

// after is which phases may follow each one: a bit for each of them.
var after = struct {
	greeting [greetings]uint8
	life     [lives]uint8
}{
	greeting: [greetings]uint8{
		GreetPreface:  1 << GreetSettings,
		GreetSettings: 1 << GreetAck,
		GreetAck:      1 << Greeted,
		Greeted:       0,
	},
	life: [lives]uint8{
		LifeOpen:     1<<LifeLeaving | 1<<LifeDraining | 1<<LifeClosed,
		LifeLeaving:  1<<LifeDraining | 1<<LifeClosed,
		LifeDraining: 1 << LifeClosed,
		LifeClosed:   0,
	},
}

const cannotFollow = "http2: a phase that cannot follow"

func (c *Conn) setGreeting(to Greeting) {
	if after.greeting[c.greeting]>>to&1 == 0 {
		panic(cannotFollow)
	}
	c.greeting = to
}

func (c *Conn) setLife(to Life) {
	if after.life[c.life]>>to&1 == 0 {
		panic(cannotFollow)
	}
	c.life = to
}

// Greeting returns how far the beginning of the connection has come.
func (c *Conn) Greeting() Greeting { return c.greeting }

// Life returns the phase of the life of the connection.
func (c *Conn) Life() Life { return c.life }
