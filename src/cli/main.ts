import { ownManifest } from './own-manifest.ts'
import { report } from './report.ts'
import { terminalOf } from './terminal.ts'

const VERSION_FLAGS: readonly (string | undefined)[] = ['--version', '-v']

/** The command line: `argv` is what follows the program's name. Ends the process when all is written. */
export async function main(argv: string[]): Promise<void> {
  const own = ownManifest(import.meta.url)
  const terminal = terminalOf(process)
  process.exitCode = VERSION_FLAGS.includes(argv[0])
    ? sayVersion(own.manifest)
    : await run(argv, own).catch((error: unknown) => report(error, argv, terminal))
  await Promise.all([flushed(process.stdout), flushed(process.stderr)])
  process.exit()
}

// Nothing else is loaded for this.
function sayVersion({ name, version }: { name: string; version: string }): number {
  process.stdout.write(`${name}/${version} ${process.platform}-${process.arch} node-${process.version}\n`)
  return 0
}

async function run(
  argv: string[],
  { root, manifest: pjson }: ReturnType<typeof ownManifest>,
): Promise<number> {
  const [{ run }, { settings }] = await Promise.all([
    import('@oclif/core/run'),
    import('@oclif/core/settings'),
  ])
  settings.enableAutoTranspile = false
  const code: unknown = await run(argv, { root, pjson })
  return typeof code === 'number' ? code : 0
}

function flushed(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise(resolve => {
    if (stream.destroyed || stream.writableEnded) resolve()
    else stream.write('', () => resolve())
  })
}
