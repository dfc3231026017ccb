// The flags of the commands that machines start, as `cli/fast-start.ts` reads them without oclif.
import { COMMANDS } from '../src/cli/commands.ts'

/** By command, the flags that only oclif's way knows. */
const LEFT_OUT: Readonly<Record<string, readonly string[]>> = {
  serve: ['detach'],
  validate: [],
  wrap: [],
  attach: [],
}

/** The source of the table of flags: whatever a command says of its own. */
export function fastFlags(): string {
  const tables = Object.keys(LEFT_OUT).map(id => `  ${id}: {\n${rowsOf(id).join('\n')}\n  },`)
  return [
    '// Generated from the flags of the commands by npm run gen: do not edit.',
    'export const FAST_FLAGS = {',
    ...tables,
    '} as const',
    '',
  ].join('\n')
}

function rowsOf(id: string): string[] {
  const flags = Object.entries(COMMANDS[id]?.flags ?? {}).filter(
    ([name]) => LEFT_OUT[id]?.includes(name) !== true,
  )
  return flags.map(([name, flag]) => {
    const members = [
      `type: '${flag.type === 'boolean' ? 'boolean' : 'string'}'`,
      ...(flag.char === undefined ? [] : [`short: '${flag.char}'`]),
      ...(flag.type === 'option' && flag.multiple === true ? ['multiple: true'] : []),
    ]
    return `    ${/^\w+$/.test(name) ? name : `'${name}'`}: { ${members.join(', ')} },`
  })
}
