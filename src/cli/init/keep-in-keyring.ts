import { createHash } from 'node:crypto'
import { basename, dirname } from 'node:path'
import { forEntry, systemKeyring } from '../../config/index.ts'
import { gatewayError } from '../../errors/errors.ts'
import type { commandRunner } from '../../gateway/load-config.ts'

/** A locked keyring asks its owner for a password first. */
const UNLOCK_MS = 60_000

type Run = ReturnType<typeof commandRunner>

interface Entry {
  readonly name: string
  readonly value: string
}

/** Name of a secret in the keyring, which knows no directories: one configuration has none of another. */
export function entryName(target: string, file: string): string {
  const project = basename(dirname(target))
    .replace(/[^\w-]+/g, '-')
    .slice(0, 40)
  const digest = createHash('sha256').update(target).digest('hex').slice(0, 8)
  return `${project}-${digest}-${file}`
}

/**
 * Puts secrets into the keyring of this system, and looks whether each comes back as it is. Returns what takes them out again.
 * @throws GatewayError GW_KEYRING; then all is as it was
 */
export async function keepInKeyring(
  entries: readonly Entry[],
  run: Run,
  cwd: string,
): Promise<() => Promise<void>> {
  const writer = new EntryWriter(run, cwd)
  try {
    for (const entry of entries) await writer.keep(entry)
  } catch (error) {
    await writer.takeBack()
    throw error
  }
  return () => writer.takeBack()
}

class EntryWriter {
  readonly #run: Run
  readonly #cwd: string
  /** What was there before, of those that were written. */
  readonly #before = new Map<string, string | undefined>()

  constructor(run: Run, cwd: string) {
    this.#run = run
    this.#cwd = cwd
  }

  async keep({ name, value }: Entry): Promise<void> {
    const before = await this.#find(name)
    if (before === value) return
    this.#before.set(name, before)
    const why = await this.#store(name, value)
    if (why !== undefined) throw gatewayError('GW_KEYRING', { name, why })
    if ((await this.#find(name)) !== value)
      throw gatewayError('GW_KEYRING', { name, why: 'it does not come back as it was given' })
  }

  async takeBack(): Promise<void> {
    const { clear = [] } = systemKeyring() ?? {}
    for (const [name, before] of this.#before)
      if (before === undefined) await this.#run({ argv: forEntry(clear, name), cwd: this.#cwd })
      else await this.#store(name, before)
    this.#before.clear()
  }

  async #find(name: string): Promise<string | undefined> {
    const { lookup = [] } = systemKeyring() ?? {}
    const found = await this.#run({ argv: forEntry(lookup, name), cwd: this.#cwd })
    return 'text' in found ? found.text : undefined
  }

  /** Reason why it was not stored. */
  async #store(name: string, value: string): Promise<string | undefined> {
    const keyring = systemKeyring()
    if (keyring === undefined) return 'none is known on this system'
    const argv = forEntry(keyring.store, name)
    const command = { argv, cwd: this.#cwd, input: keyring.input(name, value), withinMs: UNLOCK_MS }
    const done = await this.#run(command)
    return 'why' in done ? `${argv[0] ?? ''} ${done.why}` : undefined
  }
}
