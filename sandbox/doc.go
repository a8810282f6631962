// Package sandbox is the port to the place an agent works in: a box with a
// workspace, and what may be done to it.
//
// It decides the words (paths, limits, errors) that every provider shares, and
// what a provider promises. The providers are the rooms below; sandboxtest
// holds the promises as a suite, each check under the numbers of those it
// tries.
//
// # The life of a box
//
//   - L1. Describe names the provider's kind, and says the same each time.
//   - L2. A box has an id of its own, which stays.
//   - L3. A box is fresh: nothing of a box before it is in it.
//   - L4. Two boxes share nothing: no file, no process, no network.
//   - L5. Open, and all calls to a box, may be made at the same time.
//   - L6. A call with an ended context does nothing and returns the context's error.
//   - L7. After Close every call is ErrClosed. Close may be called again, and with an ended context.
//   - L8. Close ends the calls that are under way.
//   - L9. Close of the provider closes every box, and after it Open fails.
//   - L10. A box ends with its Lifetime, whatever runs in it; later calls are a BoxError or ErrClosed, and Close is no error.
//
// # Paths and files
//
//   - F1. A relative path starts at Workspace; what Resolve makes of a path is what counts.
//   - F2. A path outside the workspace is ErrOutside, and the error names it as given.
//   - F3. No link leads out of the box; an absolute one within is followed where programs would.
//   - F4. ReadFile returns at most the limit, the size of the whole file, and its permissions.
//   - F5. ReadFile and List of what is missing are ErrNotFound.
//   - F6. ReadFile of anything but a regular file is ErrNotRegular, at once: a directory, a named pipe, a socket, a device.
//   - F7. ReadFile of a link reads what it leads to.
//   - F8. What was written is what is read, byte for byte, from nothing to 16 MiB; data is its owner's before and after a call.
//   - F9. A name may hold anything but a slash and a NUL byte; where the box is a directory of the machine's, what that permits.
//   - F10. WriteFile replaces at once: a reader sees the old content or the new, and no leavings.
//   - F11. WriteFile replaces a link, not what it leads to.
//   - F12. WriteFile makes the parents it needs.
//   - F13. WriteFile where no file can be is an error about the file; the box goes on.
//   - F14. A full workspace is ErrNoSpace; the old content stays, and no half of the new.
//
// # Listings
//
//   - D1. List gives each entry with its absolute path, sorted by path; a recursive one walks.
//   - D2. List keeps at most the limit and says so; the same entries each time.
//   - D3. List reports links and does not follow them, but for the directory it was asked for.
//   - D4. List passes by what is no regular file without opening it; of what is no directory it is an error about the file.
//
// # Programs
//
//   - X1. Arguments arrive as they are, and a name without a slash is looked for in PATH.
//   - X2. A program's end is a Result: its exit status, or 128+signal and the signal.
//   - X3. A program that cannot be started is a Result with a StartError and -1.
//   - X4. Standard input arrives whole and then ends; without any it ends at once; nobody need read it.
//   - X5. A program starts in Dir, in Workspace when nothing is said.
//   - X6. A Command's Env has precedence over the Spec's, that over the proxy's variables, and those over the box's own; no call's is the next one's.
//   - X7. HOME is below Workspace, what TMPDIR names can be written to, and TZ is UTC.
//   - X8. Programs and calls see the same files, also while a program runs.
//   - X9. The two streams of output are apart, and of any bytes.
//   - X10. Of each stream HeadBytes of its beginning and TailBytes of its end are kept, 512 KiB each when nothing is said, with one line between them; all of it is counted.
//   - X11. A program that writes without end is killed, and the Result says OutputLimit.
//   - X12. A Timeout is a Result, and kills all that the program started, daemons too; one that is not reached changes nothing.
//   - X13. A call that is cancelled kills its program.
//   - X14. A child that keeps the output open does not hold up the call.
//   - X15. A box that runs no programs says ErrNoProcess to Exec, and its provider to a Spec with a Network.
//
// # Quiesce
//
//   - Q1. Quiesce kills every process but the box's own, daemons too.
//   - Q2. Quiesce ends the calls that run programs, as killed.
//   - Q3. Quiesce leaves files alone, may be called again, and the box goes on.
//   - Q4. After Quiesce the workspace itself can be entered, read and written to, whatever programs have made its mode.
//
// # Isolation and limits
//
//   - I1. A box has no network interface but lo, with a Network or without.
//
//   - I2. What is not the workspace or temporary cannot be written to.
//
//   - I3. A program sees no process of another box.
//
//   - I4. A program has no capability and no way to gain privileges.
//
//   - I5. Programs can fill the workspace up to WorkspaceBytes and no further, nor take more than PIDs or OpenFiles; the box goes on.
//
//   - I6. The Result of a program that ran into a limit names it, where that can be known: LimitMemory, LimitOutput, LimitWorkspace, LimitFile.
//
//   - I7. A box that cannot be as its Spec says is refused with ErrSpec by Describe and by Open, and not made another way.
//
// # Roots, where a session is a Binder
//
//   - R1. What Bind returns reaches the roots, by calls and by programs, and of the rest of the workspace no content and no listing, by whatever link; nor does it make, remove or rename anything there. What a program can know and change of a file without opening it is not covered: that it exists, its size, its mode, its times.
//   - R2. The session itself is not bound, and makes no difference to what is.
//   - R3. Bind makes the directories it is given, and Roots that are not narrow bind nothing.
//
// # An agent's own program, where a session is a Stager
//
//   - T1. Stage writes a file below AgentDir, with its mode, that programs can run and that is not in the workspace.
//   - T2. A name that is not relative and clean is ErrOutside, and nothing is written.
//
// # The network
//
//   - N1. Without a Network nobody listens at the proxy's port and no variable names it.
//   - N2. With one, each connection of a program to the proxy is a call of it, whatever the library.
//   - N3. Many connections work at once, and one that nobody reads holds up nothing.
//   - N4. A connection ends with its box.
package sandbox
