import type { PluginCommands } from '../../src/plugin.ts'
import { FORMAT_FLAG } from '../../src/plugin.ts'

export const commands: PluginCommands = {
  lock: {
    summary: 'Record definitions of servers in gateway.lock, for review.',
    description:
      'Adds new definitions. Changed ones keep their accepted version: see "lock diff" and "lock accept". Exit codes: 0 no differences, 6 differences or a server is unavailable, 3 the file is unusable.',
    examples: ['gateway lock', 'gateway lock files', 'gateway lock --check', 'gateway lock --prune'],
    gateway: 'any',
    args: { upstream: { description: 'Only this server.' } },
    flags: {
      format: FORMAT_FLAG,
      check: {
        type: 'boolean',
        exclusive: ['prune'],
        summary: 'Write nothing; exit with 6 if anything is new, changed or unavailable. For CI.',
      },
      prune: {
        type: 'boolean',
        summary: 'Drop definitions and servers that no longer exist.',
      },
    },
    async run(call) {
      const { diffPins, writePins } = await import('./lock-commands.ts')
      return call.flags.check === true ? diffPins(call) : writePins(call)
    },
  },
  'lock diff': {
    summary: 'Show differences from gateway.lock.',
    description: 'Invisible characters are shown as \\u….',
    examples: ['gateway lock diff', 'gateway lock diff files --json'],
    gateway: 'any',
    args: { upstream: { description: 'Only this server.' } },
    run: async call => void (await (await import('./lock-commands.ts')).diffPins(call)),
  },
  'lock accept': {
    summary: 'Accept the current definitions of one server into gateway.lock.',
    description: 'Fails if the definitions have changed since the review: the hash is the one from "lock diff".',
    examples: ['gateway lock accept files --expect v1:4be1…'],
    gateway: 'any',
    args: { upstream: { required: true, description: 'The server.' } },
    flags: {
      expect: { required: true, value: '<hash>', summary: 'The hash from "gateway lock diff".' },
    },
    run: async call => (await import('./lock-commands.ts')).acceptPins(call),
  },
}
