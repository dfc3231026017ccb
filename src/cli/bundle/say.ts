import { relative } from 'node:path'
import type { Terminal } from '../output/terminal.ts'
import { writeBundle, type BundleFlags } from './bundle.ts'
import type { Host } from '../host.ts'

/** Writes the bundle, and says so. */
export async function sayBundle(
  flags: BundleFlags & { readonly json: boolean },
  terminal: Terminal,
  host: Host,
): Promise<void> {
  const { out, cwd } = terminal
  const bundle = await writeBundle(flags, terminal, host)
  if (flags.json) {
    out.json(bundle)
    return
  }
  const { file, config, size } = bundle
  const shown = (path: string): string => (relative(cwd, path).startsWith('..') ? path : relative(cwd, path))
  out.line(
    `${out.paint('green', 'wrote')} ${shown(file)} (${Math.ceil(size / 1024)} KB) for ${shown(config)}`,
  )
  out.line(`${out.paint('dim', 'next:')} open it with Claude Desktop, on this machine`)
}
