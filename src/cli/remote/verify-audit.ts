import { resolve } from 'node:path'
import { verifyChain, type Verification } from '../../gateway/audit-check.ts'
import { gatewayError, reasonOf } from '../../errors/errors.ts'
import { plural } from '../output/plural.ts'

/** Follows the chain of an audit through all of its files. */
export async function verifyAudit(
  file: string,
  { cwd, head }: { cwd: string; head?: string | undefined },
): Promise<Verification> {
  const path = resolve(cwd, file)
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

/** What came of it, as people read it. */
export function verificationLine({ lines, files, head, problem }: Verification): string {
  if (problem !== undefined) return `${problem.file}:${problem.line > 0 ? problem.line : ''} ${problem.why}`
  return `${plural(lines, 'line')} in ${plural(files.length, 'file')} as written; the last hash is ${head ?? 'none'}`
}
