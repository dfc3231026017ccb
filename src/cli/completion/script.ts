import type { Command } from '@oclif/core/command'
import { bash } from './bash.ts'
import { commandTable } from './command-table.ts'
import type { CommandRow } from './command-table.ts'
import { fish } from './fish.ts'
import { powershell } from './powershell.ts'
import { zsh } from './zsh.ts'

type Generator = (bin: string, table: readonly CommandRow[]) => string

const GENERATORS: ReadonlyMap<string, Generator> = new Map(Object.entries({ bash, zsh, fish, powershell }))

/** The completion script of one shell. */
export function completionScript(
  shell: string,
  bin: string,
  commands: Readonly<Record<string, Command.Class>>,
): string {
  const generate = GENERATORS.get(shell)
  if (generate === undefined) throw new TypeError(`no completion for ${shell}`)
  return generate(bin, commandTable(commands)).trimEnd()
}
