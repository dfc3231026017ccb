import { chmod, mkdir, readFile, unlink, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { dirname, join } from 'node:path'
import type { TestContext } from 'node:test'
import { getStateDirectory } from '../../../../src/cli/load-source.ts'
import { CLIENTS } from '../../../../src/cli/servers/clients.ts'
import { ConnectRecords, applyPlan, planConnect } from '../../../../src/cli/servers/connect.ts'
import { openControl } from '../../../../src/control/server.ts'
import { getControlSocketPath } from '../../../../src/control/sockets.ts'
import { createLog } from '../../../../src/util/log.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'
import { LAUNCHER } from '../../../peers/gateway.ts'
import type { Lab } from './lab.ts'

/** Something that is wrong, as `gateway doctor` names it, and what mends it. */
interface Fault {
  readonly code: string
  /** Beside the table's level, the place that the finding names. */
  readonly names: RegExp
  prepare(lab: Lab, t: TestContext): Promise<void>
  /** `fix` is `gateway doctor --fix`; else what its owner does, as the finding says. */
  readonly cure: 'fix' | ((lab: Lab) => Promise<void>)
}

async function listening(t: TestContext, where: string | { port: number; host: string }): Promise<Server> {
  const server = createServer(socket => socket.destroy())
  await new Promise<void>(resolve => server.listen(where, resolve))
  cleanup(t, () => new Promise<void>(resolve => void server.close(() => resolve())))
  return server
}

function state(lab: Lab): string {
  return getStateDirectory({ file: lab.file }, lab.terminal) ?? ''
}

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
const CLIENT_FAULTS: readonly Fault[] = [
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
    cure: async lab => void (await connected(lab, 'cursor', [process.execPath, LAUNCHER, 'attach', '-c', lab.file])),
  },
  {
    code: 'client-config-gone',
    names: /Codex uses the gateway of \/gone\/gateway\.yaml/,
    prepare: async lab =>
      void (await connected(lab, 'codex', [process.execPath, LAUNCHER, 'attach', '-c', '/gone/gateway.yaml'])),
    cure: async lab => void (await connected(lab, 'codex', [process.execPath, LAUNCHER, 'attach', '-c', lab.file])),
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

const sets =
  (upstreams: string): Fault['prepare'] =>
  lab =>
    lab.config(upstreams)
const isSound: Fault['cure'] = lab => lab.config()

/** Faults of a configuration, its machine and its files. */
const MACHINE_FAULTS: readonly Fault[] = [
  {
    code: 'config-missing',
    names: /gateway\.yaml/,
    prepare: lab => unlink(lab.file),
    cure: isSound,
  },
  {
    code: 'config-invalid',
    names: /gateway\.yaml:\d+:\d+ \/upstreams\/files/,
    prepare: sets('  files: { type: stdio, comand: node }'),
    cure: isSound,
  },
  {
    code: 'config-doubtful',
    names: /gateway\.yaml/,
    prepare: sets('  files: { type: stdio, command: node, args: [server.mjs], env: { A: "$HOME" } }'),
    cure: isSound,
  },
  {
    code: 'plugin-broken',
    names: /broken/,
    async prepare(lab) {
      await lab.write('broken.mjs', 'export default { name: "broken", setup() { throw new Error("no") } }')
      await lab.config(undefined, 'plugins: { broken: { use: ./broken.mjs } }')
    },
    cure: isSound,
  },
  {
    code: 'path-missing',
    names: /gateway\.yaml:\d+:\d+ \/upstreams\/files\/env\/KEY .*no-such-vault/,
    prepare: sets(
      '  files: { type: stdio, command: node, args: [server.mjs], env: { KEY: "${exec:no-such-vault key}" } }',
    ),
    cure: lab => lab.write('bin/no-such-vault', '#!/bin/sh\n', 0o755),
  },
  {
    code: 'path-missing',
    names: /uvx not found on PATH/,
    prepare: sets('  files: { type: stdio, command: uvx, args: [mcp-server-git] }'),
    cure: lab => lab.write('bin/uvx', '#!/bin/sh\n', 0o755),
  },
  {
    code: 'path-missing',
    names: /work\/here does not exist/,
    prepare: sets('  files: { type: stdio, command: node, args: [-e, ""], cwd: work/here }'),
    cure: lab => lab.write('work/here/notes.txt', ''),
  },
  {
    code: 'port-taken',
    names: /port \d+ of listener main/,
    async prepare(lab, t) {
      const { port } = (await listening(t, { port: 0, host: '127.0.0.1' })).address() as AddressInfo
      await lab.config(undefined, '', `{ type: http, port: ${port} }`)
    },
    cure: isSound,
  },
  {
    code: 'config-writable',
    names: /gateway\.yaml/,
    prepare: lab => chmod(lab.file, 0o666),
    cure: 'fix',
  },
  {
    code: 'secret-readable',
    names: /gateway\.yaml/,
    async prepare(lab) {
      await lab.config(
        '  files: { type: http, url: "http://127.0.0.1:9/mcp", headers: { Authorization: "Bearer abcdefghijkl" } }',
      )
      await chmod(lab.file, 0o644)
    },
    cure: 'fix',
  },
  {
    code: 'secret-readable',
    names: /secrets\/token/,
    async prepare(lab) {
      await lab.write('secrets/token', 'Bearer abcdefgh', 0o644)
      await lab.config(
        '  files: { type: http, url: "http://127.0.0.1:9/mcp", headers: { Authorization: "${file:secrets/token}" } }',
      )
    },
    cure: 'fix',
  },
]

export const FAULTS = [...MACHINE_FAULTS, ...CLIENT_FAULTS]
