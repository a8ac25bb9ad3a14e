package http2

// Greeting is the progress of a connection's beginning.
type Greeting uint8

const (
	// GreetPreface waits for the preface of a client (RFC 9113 section 3.4).
	GreetPreface Greeting = iota
	// GreetSettings waits for SETTINGS, which must be the first frame.
	GreetSettings
	// GreetAck waits for the acknowledgement of the settings that were sent.
	GreetAck
	// Greeted means that both sides know each other's settings.
	Greeted
	greetings
)

// Life is a phase of the life of a connection.
type Life uint8

const (
	// LifeOpen means that streams may begin.
	LifeOpen Life = iota
	// LifeGoingAway means that a GOAWAY frame has announced that no more streams will be
	// accepted.
	// Streams that it began before it knew are still served.
	LifeGoingAway
	// LifeDraining means that no more streams begin, and that the existing ones run to
	// their end.
	LifeDraining
	// LifeClosed means that nothing more is received. The rest of the output must still be
	// written, and has a GOAWAY at its end.
	LifeClosed
	lives
)

// after holds, for each phase, the phases that may follow it: a bit for each of them.
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
		LifeOpen:      1<<LifeGoingAway | 1<<LifeDraining | 1<<LifeClosed,
		LifeGoingAway: 1<<LifeDraining | 1<<LifeClosed,
		LifeDraining:  1 << LifeClosed,
		LifeClosed:    0,
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

// Greeting returns the progress of the connection's beginning.
func (c *Conn) Greeting() Greeting { return c.greeting }

// Life returns the phase of the life of the connection.
func (c *Conn) Life() Life { return c.life }
