package main

func runHeads()  {}
func runChunks() {}
