import { fromYaml } from '../../config/source/plain-yaml.ts'
import { isObject } from '../../protocol/json/json.ts'
import { textAt, jsonOf } from '../../util/plain-data.ts'
import { outputOf } from '../background/own-program.ts'
import type { Adding } from './add.ts'
import type { Host } from '../host.ts'

/** Where the definitions of a new server were pinned, or why they were not. */
export type Pinned =
  { readonly file: string; readonly problem?: never } | { readonly problem: string; readonly file?: never }

/** Pins what a new server says of itself, as `gateway lock` does; undefined where the configuration has no pins. */
export async function pinned({ file, name, edited }: Adding, host: Host): Promise<Pinned | undefined> {
  if (!hasPins(edited.after)) return undefined
  const { text, exit } = await outputOf(host, ['lock', name, '--json', '--config', file])
  const said = jsonOf(text)
  const lock = textAt(said, 'file')
  if (exit === 0 && lock !== undefined) return { file: lock }
  const [first] = isObject(said) && Array.isArray(said.upstreams) ? (said.upstreams as unknown[]) : []
  return { problem: textAt(first, 'problem') ?? textAt(said, 'error', 'message') ?? 'they were not written' }
}

function hasPins(text: string): boolean {
  try {
    const config = fromYaml(text)
    return isObject(config) && config.pins !== undefined
  } catch {
    return false
  }
}
