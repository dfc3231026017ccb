import { run } from './run.ts'

/** The command line as a process of its own; `argv` is what follows the program's name. Ends the process when all is written. */
export async function main(argv: string[]): Promise<void> {
  await trustOwnAuthorities()
  process.exitCode = await run(argv, process)
  await Promise.all([flushed(process.stdout), flushed(process.stderr)])
  process.exit()
}

async function trustOwnAuthorities(): Promise<void> {
  const { SSL_CERT_FILE: authorities, NODE_EXTRA_CA_CERTS: known } = process.env
  // Node trusts the second by itself, and reads it only when it opens a secure connection.
  if (authorities === undefined || authorities === '' || authorities === known) return
  const { trustAuthorities } = await import('./own-authorities.ts')
  trustAuthorities(authorities, text => void process.stderr.write(`${text}\n`))
}

function flushed(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise(resolve => {
    if (stream.destroyed || stream.writableEnded) resolve()
    else stream.write('', () => resolve())
  })
}
