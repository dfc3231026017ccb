import type { Caller } from '../types/tasks.ts'
import { Journal } from '../store/journal.ts'
import type { LiveTask, TaskContext } from './context.ts'
import type { TaskRecord } from '../store/record.ts'

const USUAL_OUTPUT = { inline: 65_536, keep: 8 * 1024 * 1024, maxLine: 0, events: 500, thoughts: false }

/** A task in the hands of this gateway, with nobody at work on it yet. */
export function liveOf(
  context: TaskContext,
  record: TaskRecord,
  prompt: string | undefined,
  caller: Caller,
): LiveTask {
  const agent = record.agent ?? record.start.decision.chosen[0] ?? ''
  const output = context.parts.agents.get(agent)?.settings.output ?? USUAL_OUTPUT
  return {
    ...{ record, prompt, caller },
    journal: new Journal(context, record, output),
    controller: new AbortController(),
    asks: new Map(),
    agent: undefined,
    session: undefined,
    hadEffect: record.hadEffect,
    hasSigned: false,
    asked: 0,
    deniedBy: undefined,
    isLate: false,
  }
}
