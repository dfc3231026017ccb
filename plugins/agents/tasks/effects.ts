import type { AgentToolCall } from '../types/agent.ts'
import type { LiveTask } from './context.ts'

/** What only looks; a call of any other kind, or of none, may change something. */
const HARMLESS: ReadonlySet<string> = new Set(['read', 'search', 'think', 'fetch', 'switch_mode'])
const CHANGING: ReadonlySet<string> = new Set(['edit', 'delete', 'move'])

/** Notes on disk, once, that an agent may have changed something: from then on nobody else may begin the task anew. */
export function countEffect(live: LiveTask, { kind }: AgentToolCall): void {
  if (live.hadEffect || (kind !== undefined && HARMLESS.has(kind))) return
  live.hadEffect = true
  live.journal.effect()
}

/** The files that a call of an agent has changed. */
export function filesOf({ kind, status, paths, content }: AgentToolCall): readonly string[] {
  if (status !== 'completed') return []
  const diffs = content
    .map(({ type, path }) => (type === 'diff' && typeof path === 'string' ? path : undefined))
    .filter(path => path !== undefined)
  return kind !== undefined && CHANGING.has(kind) ? [...paths, ...diffs] : diffs
}
