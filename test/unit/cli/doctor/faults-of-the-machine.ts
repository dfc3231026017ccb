import { chmod, mkdir, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { state, type Fault } from './fault.ts'

const sets =
  (upstreams: string): Fault['prepare'] =>
  lab =>
    lab.config(upstreams)
const isSound: Fault['cure'] = lab => lab.config()

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
    code: 'directory-missing',
    names: /work/,
    prepare: sets('  files: { type: stdio, command: node, args: [-e, ""], cwd: work/here }'),
    cure: 'fix',
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
    code: 'socket-directory',
    names: /tapgate/,
    prepare: async lab => {
      await mkdir(join(lab.runtime, 'tapgate'), { recursive: true })
      await chmod(join(lab.runtime, 'tapgate'), 0o755)
    },
    cure: 'fix',
  },
]
