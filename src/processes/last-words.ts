/** What servers and what runs them say at every start, and what never is why one ended. */
const CHATTER =
  /^(Failed to request initial roots from client|npm (warn|notice|WARN)|\(node:\d+\) |\(Use `node --trace|Node\.js v\d|node:[\w/]+:\d+$|Traceback \(most recent)/
/** What is in an error besides its message: frames, the code around it, its properties. */
const TRIMMINGS = /^\s+(at |File "|~|\^)|^\s*[\]{}[\],;)]+\s*$|^\s+(code|requireStack|url|errno|syscall): /
/** The line of an error that says what it is, in the forms of most languages. */
const ERROR =
  /^(Uncaught |Unhandled |Exception in thread "[^"]*" )?[\w.$]*(Error|Exception)( \[\w+\])?(:|$)|^(fatal|error|panic)\b|panicked at/i

/** What a process ended with, as one line: its error where there is one, else the last lines that say something. */
export function lastWordsIn(text: string): string {
  const lines = text.split(/\r?\n/).filter(line => line.trim() !== '' && !CHATTER.test(line))
  const error = lines.findLast(line => ERROR.test(line))
  if (error !== undefined) return error.trim()
  const said = lines.filter(line => !TRIMMINGS.test(line))
  return said
    .slice(-3)
    .map(line => line.trim())
    .join(' | ')
}
