import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { TestContext } from 'node:test'
import { CLIENTS } from '../../../../src/cli/servers/clients.ts'
import { ConnectRecords, applyPlan, planConnect } from '../../../../src/cli/servers/connect.ts'
import { openControl } from '../../../../src/control/server.ts'
import { getControlSocketPath } from '../../../../src/control/sockets.ts'
import { createLog } from '../../../../src/util/log.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'
import { LAUNCHER } from '../../../peers/gateway.ts'
import { listening, state, type Fault } from './fault.ts'
import type { Lab } from './lab.ts'

const quiet = createLog({ level: 'error', format: 'json', write: () => undefined })

/** Connects a client of the lab, and returns the file of its settings. */
export async function connected(lab: Lab, name: string, line: readonly string[]): Promise<string> {
  const client = CLIENTS.find(one => one.name === name)
  if (client === undefined) throw new Error(name)
  const connections = new ConnectRecords(dirname(state(lab)))
  const values = { name: 'gateway', line }
  const options = { scope: 'user', values, connections, terminal: lab.terminal } as const
  const plan = await planConnect(client, options)
  await applyPlan(plan, options)
  return plan.file ?? ''
}

/** A control socket that answers as a gateway of this version would. */
async function running(lab: Lab, t: TestContext, version: string, pid = 1): Promise<void> {
  const socket = getControlSocketPath({ file: lab.file, env: '', environment: lab.terminal.environment }, pid)
  const control = await openControl(
    socket,
    {
      about: { name: 'tapgate', version, pid, config: lab.file },
      log: quiet,
      control: () => Promise.resolve({ level: 'ok', findings: [] }),
    },
    true,
  )
  cleanup(t, () => control.close())
  lab.ends.push(() => control.close())
}

const endAll: Fault['cure'] = async lab => {
  for (const end of lab.ends.splice(0)) await end()
}

/** Faults of clients, and of the gateway that runs. */
export const CLIENT_FAULTS: readonly Fault[] = [
  {
    code: 'client-broken',
    names: /Cursor.*mcp\.json: line \d/,
    prepare: lab => lab.write('.cursor/mcp.json', '{ "mcpServers": { "a": '),
    cure: lab => lab.write('.cursor/mcp.json', '{ "mcpServers": {} }'),
  },
  {
    code: 'client-command-gone',
    names: /Cursor starts \/gone\/node/,
    prepare: async lab => void (await connected(lab, 'cursor', ['/gone/node', LAUNCHER, 'attach', '-c', lab.file])),
    cure: 'fix',
  },
  {
    code: 'client-config-gone',
    names: /Codex uses the gateway of \/gone\/gateway\.yaml/,
    prepare: async lab =>
      void (await connected(lab, 'codex', [process.execPath, LAUNCHER, 'attach', '-c', '/gone/gateway.yaml'])),
    cure: 'fix',
  },
  {
    code: 'client-own-servers',
    names: /Cursor also starts files itself/,
    async prepare(lab) {
      await lab.write('.cursor/mcp.json', '{ "mcpServers": { "files": { "command": "x" } } }')
      await connected(lab, 'cursor', [process.execPath, LAUNCHER, 'attach', '-c', lab.file])
    },
    async cure(lab) {
      const file = join(lab.home, '.cursor/mcp.json')
      const text = (await readFile(file, 'utf8')).replace('"files": { "command": "x" },', '')
      await writeFile(file, text.replace('"files"', '"other"'))
    },
  },
  {
    code: 'no-clients',
    names: /Cursor/,
    prepare: lab => lab.write('.cursor/mcp.json', '{}'),
    cure: async lab => void (await connected(lab, 'cursor', [process.execPath, LAUNCHER, 'attach', '-c', lab.file])),
  },
  {
    code: 'not-running',
    names: /gateway\.yaml/,
    prepare: async () => undefined,
    // Its fix starts one; here what answers like one.
    cure: async lab => running(lab, lab.context, lab.version),
  },
  {
    code: 'gateway-silent',
    names: /does not answer/,
    async prepare(lab, t) {
      const socket = getControlSocketPath({ file: lab.file, env: '', environment: lab.terminal.environment }, 77)
      await mkdir(dirname(socket), { recursive: true, mode: 0o700 })
      const server = await listening(t, socket)
      lab.ends.push(() => new Promise(resolve => server.close(() => resolve())))
    },
    cure: endAll,
  },
]
