/** Sends what code prints with `console` to stderr: stdout belongs to the protocol. */
export function guardStdout(target: Console = console): void {
  const toStderr = target.error.bind(target)
  target.log = toStderr
  target.info = toStderr
  target.debug = toStderr
  target.dir = toStderr
}
