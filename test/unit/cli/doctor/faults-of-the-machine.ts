import { chmod, mkdir, rm, symlink, unlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { getAttachSocketPath, getControlSocketPath } from '../../../../src/control/sockets.ts'
import { listening, state, type Fault } from './fault.ts'
import type { Lab } from './lab.ts'

const sets =
  (upstreams: string): Fault['prepare'] =>
  lab =>
    lab.config(upstreams)
const isSound: Fault['cure'] = lab => lab.config()

const expired = 'e30.x'
const jwt = (exp: number): string =>
  `eyJhbGciOiJub25lIn0.${Buffer.from(JSON.stringify({ exp })).toString('base64url')}.${expired}`

async function staleSocket(lab: Lab): Promise<void> {
  const path = getControlSocketPath({ file: lab.file, env: '', environment: lab.terminal.environment }, 999_999)
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const { spawnSync } = process.getBuiltinModule('node:child_process')
  const script = `require('node:net').createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, 'SIGKILL'))`
  spawnSync(process.execPath, ['-e', script])
}

/** Faults of a configuration, its machine and its files. */
export const MACHINE_FAULTS: readonly Fault[] = [
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
    code: 'variable-missing',
    names: /GITHUB_TOKEN/,
    prepare: sets('  files: { type: http, url: "http://127.0.0.1:9/${GITHUB_TOKEN}" }'),
    cure: lab => lab.environment('GITHUB_TOKEN', 'x'),
  },
  {
    code: 'secret-missing',
    names: /secrets\/token/,
    prepare: sets(
      '  files: { type: http, url: "http://127.0.0.1:9/mcp", headers: { authorization: "${file:secrets/token}" } }',
    ),
    cure: lab => lab.write('secrets/token', 'abcdefgh', 0o600),
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
    code: 'program-missing',
    names: /uvx not found on PATH/,
    prepare: sets('  files: { type: stdio, command: uvx, args: [mcp-server-git] }'),
    cure: lab => lab.write('bin/uvx', '#!/bin/sh\n', 0o755),
  },
  {
    code: 'script-missing',
    names: /gone\.mjs/,
    prepare: sets('  files: { type: stdio, command: node, args: [gone.mjs] }'),
    cure: lab => lab.write('gone.mjs', ''),
  },
  {
    code: 'directory-missing',
    names: /work/,
    prepare: sets('  files: { type: stdio, command: node, args: [-e, ""], cwd: work/here }'),
    cure: 'fix',
  },
  {
    code: 'program-not-executable',
    names: /run\.sh/,
    async prepare(lab) {
      await lab.write('run.sh', '#!/bin/sh\n', 0o644)
      await lab.config('  files: { type: stdio, command: ./run.sh }')
    },
    cure: lab => chmod(join(lab.home, 'run.sh'), 0o755),
  },
  {
    code: 'secret-placeholder',
    names: /env\.GITHUB_TOKEN.*YOUR_API_KEY/,
    prepare: sets('  files: { type: stdio, command: node, args: [server.mjs], env: { GITHUB_TOKEN: YOUR_API_KEY } }'),
    cure: sets('  files: { type: stdio, command: node, args: [server.mjs], env: { GITHUB_TOKEN: ghp_abcdefgh } }') as (
      lab: Lab,
    ) => Promise<void>,
  },
  {
    code: 'token-expired',
    names: /headers\.Authorization (has )?expired/i,
    prepare: sets(
      `  files: { type: http, url: "http://127.0.0.1:9/mcp", headers: { Authorization: "Bearer ${jwt(1)}" } }`,
    ),
    cure: sets(
      `  files: { type: http, url: "http://127.0.0.1:9/mcp", headers: { Authorization: "Bearer ${jwt(4e9)}" } }`,
    ) as (lab: Lab) => Promise<void>,
  },
  {
    code: 'port-taken',
    names: /listener main/,
    async prepare(lab, t) {
      const server = await listening(t, { port: 0, host: '127.0.0.1' })
      const address = server.address()
      const port = typeof address === 'object' ? address?.port : 0
      await lab.config(undefined, '', `{ type: http, port: ${port} }`)
    },
    cure: isSound,
  },
  {
    code: 'address-unknown',
    names: /203\.0\.113\.7/,
    prepare: lab => lab.config(undefined, '', '{ type: http, port: 0, host: 203.0.113.7, exposeWithoutAuth: true }'),
    cure: isSound,
  },
  {
    code: 'config-writable',
    names: /gateway\.yaml/,
    prepare: lab => chmod(lab.file, 0o666),
    cure: 'fix',
  },
  {
    code: 'config-readable',
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
  {
    code: 'state-readable',
    names: /tapgate/,
    prepare: async lab => {
      await mkdir(state(lab), { recursive: true })
      await chmod(state(lab), 0o755)
    },
    cure: 'fix',
  },
  {
    code: 'state-unusable',
    names: /not a directory/,
    prepare: async lab => {
      await rm(dirname(state(lab)), { recursive: true, force: true })
      await mkdir(dirname(dirname(state(lab))), { recursive: true })
      await writeFile(dirname(state(lab)), 'in the way')
    },
    cure: lab => unlink(dirname(state(lab))),
  },
  {
    code: 'socket-directory',
    names: /tapgate/,
    prepare: async lab => {
      await mkdir(join(lab.runtime, 'tapgate'), { recursive: true })
      await chmod(join(lab.runtime, 'tapgate'), 0o755)
    },
    cure: 'fix',
  },
  { code: 'socket-stale', names: /1 socket in/, prepare: staleSocket, cure: 'fix' },
  {
    code: 'socket-blocked',
    names: /\.mcp/,
    async prepare(lab) {
      const path = getAttachSocketPath({ file: lab.file, env: '', environment: lab.terminal.environment })
      await mkdir(dirname(path), { recursive: true, mode: 0o700 })
      await symlink('/dev/null', path)
    },
    cure: lab => unlink(getAttachSocketPath({ file: lab.file, env: '', environment: lab.terminal.environment })),
  },
  {
    code: 'lock-stale',
    names: /\.lock/,
    prepare: async lab => {
      await mkdir(state(lab), { recursive: true, mode: 0o700 })
      await writeFile(join(state(lab), 'x.lock'), '4194305')
    },
    cure: 'fix',
  },
]
