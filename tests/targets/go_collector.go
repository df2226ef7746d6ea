// Allocates trees that become garbage, hands them through a channel, and grows stacks: much of its time
// is the runtime's, on the stacks of threads: go_collector MILLISECONDS
package main

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

type node struct {
	left, right *node
	data        [4]int
}

func tree(n int) *node {
	if n == 0 {
		return &node{}
	}
	return &node{left: tree(n - 1), right: tree(n - 1)}
}

func grow(n int) int {
	var pad [64]int
	if n == 0 {
		return 1
	}
	pad[n%64] = n
	return grow(n-1) + pad[n%64] - n
}

func main() {
	ms, _ := strconv.Atoi(os.Args[1])
	end := time.Now().Add(time.Duration(ms) * time.Millisecond)
	c := make(chan *node)
	done := make(chan int)
	go func() {
		n := 0
		for t := range c {
			if t.left != nil {
				n++
			}
		}
		done <- n
	}()
	keep := tree(16)
	for time.Now().Before(end) {
		for i := 0; i < 50; i++ {
			c <- tree(8)
		}
		d := make(chan int)
		go func() { d <- grow(500) }()
		<-d
	}
	close(c)
	fmt.Println(<-done, keep.left != nil)
}
