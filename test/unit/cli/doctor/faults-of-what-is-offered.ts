import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { Fault } from './fault.ts'
import type { Lab } from './lab.ts'

const MOODY = fileURLToPath(new URL('../../gateway/health/moody-server.mjs', import.meta.url))

interface Tool {
  readonly name: string
  readonly description?: string
}

/** Servers with these tools, started by the name of the file that has them. */
async function offering(
  lab: Lab,
  offers: Readonly<Record<string, readonly Tool[]>>,
  more: { readonly each?: string; readonly section?: string } = {},
): Promise<void> {
  await lab.write('server.mjs', await readFile(MOODY, 'utf8'))
  for (const [name, tools] of Object.entries(offers)) {
    const entries = tools.map(tool => ({ inputSchema: { type: 'object' }, ...tool }))
    await lab.write(`${name}.json`, JSON.stringify({ tools: entries }))
  }
  const { each = '' } = more
  const upstreams = Object.keys(offers).map(
    name => `  ${name}: { type: stdio, command: node, args: [server.mjs, ${name}.json]${each} }`,
  )
  await lab.config(upstreams.join('\n'), more.section)
}

function many(count: number, description = 'x'): Tool[] {
  return Array.from({ length: count }, (_, index) => ({ name: `tool-${index}`, description }))
}

const PLAIN = ', prefix: ""'
const heavy = many(20, 'long '.repeat(1500))
const SOME = 'filters: { tools: { allow: ["*tool-1*"] } }'

/** Faults of what servers offer, which `gateway doctor --online` asks them for. */
export const ONLINE_FAULTS: readonly Fault[] = [
  {
    code: 'names-withheld',
    names: /1 names of \w+ .*: tool-0/,
    prepare: lab => offering(lab, { one: many(1), two: many(1) }, { each: PLAIN }),
    cure: lab => offering(lab, { one: many(1), two: many(1) }),
  },
  {
    code: 'tools-many',
    names: /130 tools/,
    prepare: lab => offering(lab, { one: many(65), two: many(65) }),
    cure: lab => offering(lab, { one: many(65), two: many(65) }, { section: SOME }),
  },
  {
    code: 'tools-heavy',
    names: /about \d{5} tokens/,
    prepare: lab => offering(lab, { one: heavy }),
    cure: lab => offering(lab, { one: heavy }, { section: SOME }),
  },
]
