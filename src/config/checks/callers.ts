import { listAt, textAt, valueAt } from '../../util/plain-data.ts'
import type { Report } from '../../util/finding.ts'
import { didYouMean } from '../../util/suggest.ts'
import { PRINCIPAL_PATHS } from '../keys.gen.ts'
import { visitAt } from './globs.ts'

/** Rules that cannot say whom they mean. */
export function checkCallers(config: unknown, report: Report): void {
  const auth = valueAt(config, 'auth')
  if (auth === undefined) return
  const named = [...listAt(auth, 'jwt'), ...listAt(auth, 'certificates')]
  const issuers = [...new Set(named.map(spec => textAt(spec, 'issuer') ?? ''))]
  const hasKeys = listAt(auth, 'keys').length > 0 || textAt(auth, 'keysFile') !== undefined
  for (const { pointer, pattern } of namedCallers(config)) {
    const why = unclear(pattern, issuers, hasKeys)
    if (why !== undefined) report({ pointer, ...why })
  }
}

/** Why nobody can say whom a pattern means; undefined when it is clear. */
function unclear(
  pattern: string,
  issuers: readonly string[],
  hasKeys: boolean,
): { message: string; hint: string | undefined } | undefined {
  const [first = '', ...rest] = pattern.split(' ')
  const isQualified = [...issuers, 'api-key'].some(issuer => pattern.startsWith(`${issuer} `))
  if (pattern === '*' || isQualified) return undefined
  if (rest.length > 0 && first.includes('://'))
    return { message: `there is no issuer "${first}"`, hint: didYouMean(first, issuers) }
  if (hasKeys || issuers.length < 2) return undefined
  return {
    message: `"${pattern}" may be somebody else at each issuer`,
    hint: `write "${issuers[0] ?? ''} ${pattern}"`,
  }
}

interface Named {
  readonly pointer: string
  readonly pattern: string
}

/** Finds every place where a rule names callers. */
function namedCallers(config: unknown): Named[] {
  const named: Named[] = []
  const add = (value: unknown, pointer: string): void => {
    if (typeof value === 'string') named.push({ pointer, pattern: value })
    else if (Array.isArray(value)) value.forEach((inner, i) => add(inner, `${pointer}/${i}`))
  }
  for (const path of PRINCIPAL_PATHS) visitAt(config, path, add)
  return named
}
