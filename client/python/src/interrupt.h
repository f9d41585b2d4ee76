#pragma once
// Ctrl-C while a kernel runs in the main thread.
//
// Python's own handler of SIGINT only leaves a note for the interpreter, which reads it when the call is back. So
// that a long call comes back early, a handler put in front of Python's sets the flag that CallControl looks at;
// kernels ask for it at their checkpoints. Python's handler is then called as if nothing were in front of it.

#include <atomic>

namespace krt::python {

// For a call that starts in this thread: the flag to give to CallControl::cancelled, or null where this is not the
// main thread (Python raises KeyboardInterrupt nowhere else). Called with the GIL held.
const std::atomic<bool>* interrupt_flag();

// After a call with that flag, with the GIL held: throws the Python exception that a signal handler raised.
void raise_if_interrupted(const std::atomic<bool>* flag);

// Makes the calling thread the main thread: at import, and in the child after fork().
void set_main_thread();

}  // namespace krt::python
