module github.com/molecule-man/go-brrr

go 1.26.0

require github.com/andybalholm/brotli v1.2.0
