import { MARK_VARIABLE } from './environment.ts'
import { ProcessGroup, spawnServer } from './launch.ts'

const WITHIN_MS = 5000
const MAX_BYTES = 64 * 1024
/** Its complaint, when it fails. */
const MAX_COMPLAINT = 300

/** A program with its arguments, and where it runs. */
interface OutputCommand {
  readonly argv: readonly string[]
  readonly cwd: string
}

/** Output of a program, without the line end, or the reason why there is none. */
type Output = { readonly text: string } | { readonly why: string }

/**
 * Runs a program of the owner for what it prints: without a shell, with the gateway's own environment, for five seconds and
 * 64 KiB. Nothing of its process group outlives it.
 */
export async function runForOutput(
  { argv: [command = '', ...args], cwd }: OutputCommand,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<Output> {
  const set = Object.entries(environment).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && entry[0] !== MARK_VARIABLE,
  )
  const { promise, resolve } = Promise.withResolvers<Output>()
  const child = spawnServer({ command, args, cwd, env: Object.fromEntries(set) })
  const group = new ProcessGroup(child)
  const pieces: Buffer[] = []
  let length = 0
  let complaint = ''
  child.stdout.on('data', (piece: Buffer) => {
    length += piece.length
    if (length > MAX_BYTES) resolve({ why: `printed more than ${MAX_BYTES} bytes` })
    else pieces.push(piece)
  })
  child.stderr.on('data', (piece: Buffer) => {
    if (complaint.length < MAX_COMPLAINT) complaint += piece.toString('utf8')
  })
  child.on('error', error => resolve({ why: `could not be run: ${whyNot(error)}` }))
  child.on('close', (code, signal) => resolve(outcome(code, signal, Buffer.concat(pieces), complaint)))
  child.stdin.on('error', () => undefined)
  child.stdin.end()
  const timer = setTimeout(() => resolve({ why: `did not end within ${WITHIN_MS / 1000} s` }), WITHIN_MS)
  const output = await promise
  clearTimeout(timer)
  group.signal('SIGKILL')
  child.stdout.destroy()
  child.stderr.destroy()
  return output
}

function outcome(code: number | null, signal: string | null, bytes: Buffer, complaint: string): Output {
  if (code !== 0) {
    const said = complaint.trim().replace(/\s+/g, ' ').slice(0, MAX_COMPLAINT)
    return { why: `ended with ${signal ?? `exit code ${code}`}${said === '' ? '' : `: ${said}`}` }
  }
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes).replace(/\r?\n$/, '')
    return text === '' ? { why: 'printed nothing' } : { text }
  } catch {
    return { why: 'printed something that is no UTF-8 text' }
  }
}

function whyNot(error: NodeJS.ErrnoException): string {
  return error.code === 'ENOENT' ? 'there is no such program' : error.message
}
