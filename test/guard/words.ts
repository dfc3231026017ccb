import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { ROOT } from './sources.ts'

/** Words that the project used for what has a standard name; the standard name stands beside each. */
export const RETIRED: Readonly<Record<string, string>> = {
  office: 'context',
  desk: 'task service',
  face: 'mcp',
  door: 'gate, callback token, authenticator',
  doors: 'callback tokens',
  seat: 'pool slot',
  seats: 'pool slots',
  visitor: 'caller',
  visitors: 'callers',
  works: 'runtime',
  employed: 'runtime',
  mate: 'peer',
  mates: 'peers',
  ghost: 'cancelled call',
  ghosts: 'cancelled calls',
  haunted: 'draining',
  habit: 'observed behaviour',
  habits: 'observed behaviour',
  manner: 'observed behaviour',
  jealous: 'exclusive',
  fleet: 'connection pool',
  keeper: 'supervisor, shared state, recycle policy',
  keepers: 'supervisors',
  wish: 'interest, requested capability',
  wishes: 'client interest',
  guardian: 'watchdog',
  road: 'pipeline',
  lane: 'direction, notifier',
  deed: 'handler',
  edge: 'listener context',
}

/** Each retired word in an identifier of the file, as often as it is declared or used. */
export function retiredIn(file: string): string[] {
  const text = readFileSync(join(ROOT, file), 'utf8')
  const tree = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, false)
  const found: string[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isIdentifier(node) || ts.isPrivateIdentifier(node))
      for (const word of wordsOf(node.text)) if (Object.hasOwn(RETIRED, word)) found.push(word)
    ts.forEachChild(node, visit)
  }
  visit(tree)
  return found
}

/** `askLegacyRoad` is `ask`, `legacy` and `road`. */
function wordsOf(identifier: string): string[] {
  return identifier.split(/[^A-Za-z]+|(?<=[a-z])(?=[A-Z])/).map(word => word.toLowerCase())
}
