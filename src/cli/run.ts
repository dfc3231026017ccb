import type { Host } from './host.ts'
import type { KnownCommand } from './output/report.ts'
import { terminalOf } from './output/terminal.ts'
import { ownPackage } from '../util/version.ts'

const VERSION_FLAGS: readonly (string | undefined)[] = ['--version', '-v']

/**
 * Runs one command line to its end and returns its exit code; `argv` is what follows the program's name. It writes to the
 * streams of `host` and changes nothing of the process it runs in, which may be a test.
 */
export async function run(argv: readonly string[], host: Host): Promise<number> {
  const terminal = terminalOf(host)
  try {
    if (VERSION_FLAGS.includes(argv[0])) {
      const { name, version } = ownPackage()
      terminal.out.line(`${name}/${version} ${host.platform}-${process.arch} node-${process.version}`)
      return 0
    }
    const { runWithOclif } = await import('./oclif.ts')
    return await runWithOclif(argv, host, terminal)
  } catch (error) {
    const { report } = await import('./output/report.ts')
    return report(error, argv, terminal, knownCommands)
  }
}

/** As people type them: `agents list`. */
async function knownCommands(): Promise<KnownCommand[]> {
  const { COMMANDS } = await import('./commands.ts')
  return Object.entries(COMMANDS).map(([id, { flags }]) => ({
    name: id.replaceAll(':', ' '),
    required: Object.keys(flags).filter(flag => flags[flag]?.required === true),
  }))
}
