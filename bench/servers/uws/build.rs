// The library's objects are those of GCC's optimizer at link time, which needs GNU's linker.
fn main() {
    println!("cargo:rustc-link-arg=-fuse-ld=bfd");
    for library in ["stdc++", "uv", "z", "ssl", "crypto"] {
        println!("cargo:rustc-link-arg=-l{library}");
    }
}
