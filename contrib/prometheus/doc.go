// Package fasthttpprometheus has the metrics of servers and clients of fasthttp for Prometheus.
//
//	s := &fasthttp.Server{Handler: handler}
//	prometheus.MustRegister(fasthttpprometheus.NewServer(s, fasthttpprometheus.Options{}))
//
//	c := &fasthttp.Client{}
//	calls := fasthttpprometheus.NewClient(c, fasthttpprometheus.Options{})
//	c.Transport = fasthttp.ChainRoundTrippers(nil, calls.Transport)
//	prometheus.MustRegister(calls)
//
// Labels have few values, whatever clients send: methods that are not standard are "other". A
// request finds its metrics without a lock and without an allocation.
package fasthttpprometheus
