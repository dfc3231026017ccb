import { resolve } from 'node:path'
import { gatewayError, reasonOf, type PluginCommands } from '../../src/plugin.ts'
import type { Verification } from './verify.ts'

/** Exit code where the audit is not what was written. */
const CHANGED = 5

export const commands: PluginCommands = {
  'audit verify': {
    summary: 'Check that an audit with chain: true is what was written.',
    description:
      'Reads <file> and those set aside before it. Exit codes: 0 intact, 2 cannot be read, 5 changed.',
    examples: ['gateway audit verify audit.jsonl', 'gateway audit verify audit.jsonl --json'],
    args: { file: { required: true, description: 'The newest file.' } },
    flags: {
      head: {
        summary: 'A last hash that was noted before: lines after it may have been added, none taken away.',
      },
    },
    async run({ args, flags, cwd, print }) {
      const verification = await verifyAudit(resolve(cwd, args.file ?? ''), flags.head as string | undefined)
      print(verification, () => [verificationLine(verification)])
      return verification.isIntact ? 0 : CHANGED
    },
  },
}

/** Follows the chain of an audit through all of its files. @throws GatewayError GW_USAGE where one cannot be read */
async function verifyAudit(path: string, head: string | undefined): Promise<Verification> {
  const { verifyChain } = await import('./verify.ts')
  try {
    return await verifyChain(path, head)
  } catch (cause) {
    throw gatewayError('GW_USAGE', {
      what: `cannot read ${path}: ${isMissing(cause) ? 'there is no such file' : reasonOf(cause)}`,
    })
  }
}

function isMissing(cause: unknown): boolean {
  return cause instanceof Error && 'code' in cause && cause.code === 'ENOENT'
}

function verificationLine({ lines, files, head, problem }: Verification): string {
  if (problem !== undefined) return `${problem.file}:${problem.line > 0 ? problem.line : ''} ${problem.why}`
  const read = `${lines} line${lines === 1 ? '' : 's'} in ${files.length} file${files.length === 1 ? '' : 's'}`
  return `${read} as written; the last hash is ${head ?? 'none'}`
}
