import type { JsonObject } from '../../../src/plugin.ts'
import type {
  AgentToolCall,
  PermissionOutcome,
  PermissionRequest,
  SessionHandler,
  SessionUpdate,
  PermissionVerdict,
} from '../types.ts'
import type { AgentSettings } from '../settings.ts'
import { askOwner, elicit } from './questions.ts'
import type { LiveTask, TaskContext } from './context.ts'
import { formatLine } from '../store/task-journal.ts'
import { formatCallLine, formatPermissionQuestion } from '../permissions.ts'

/** Read-only call kinds; any other kind may change something. */
const HARMLESS: ReadonlySet<string> = new Set(['read', 'search', 'think', 'fetch', 'switch_mode'])

const CHANGING: ReadonlySet<string> = new Set(['edit', 'delete', 'move'])

const ALLOW = 'allow'

const SCHEMA = {
  type: 'object',
  properties: { decision: { type: 'string', title: 'Decision', enum: [ALLOW, 'deny'] } },
  required: ['decision'],
}

/** Tracked tool calls per turn. */
const MAX_CALLS = 1000

/** Creates the session handler, which records the agent's activity and answers its requests. */
export function createSessionHandler(
  context: TaskContext,
  live: LiveTask,
  settings: AgentSettings,
  cwd: string,
): SessionHandler {
  const askedIds = new Set<string>()
  // Calls without a question cannot be stopped; a failed one after a denial may be the denied one under another id.
  const checkUnasked = (call: AgentToolCall): void => {
    const isOver = call.status === 'completed' || (call.status === 'failed' && live.deniedBy === undefined)
    if (!isOver || askedIds.has(call.id)) return
    // Ignore the default action: agents read files constantly without asking.
    const policy = { ...settings.permissions, default: 'ask' } as const
    const { do: verdict, by } = context.parts.containment.decide(call, policy, cwd)
    if (verdict !== 'deny') return
    const line = formatCallLine(call, context.environment.hide)
    live.journal.addWarning(`${settings.id} did not ask before an action that ${by} denies: ${line}`)
  }
  const handleUpdate = createUpdateHandler(context, live, settings, checkUnasked)
  return {
    update(update) {
      if (!SILENT.has(update.is)) live.hasSigned = true
      handleUpdate(update)
    },
    permission(request) {
      live.hasSigned = true
      if (askedIds.size < MAX_CALLS) askedIds.add(request.call.id)
      return answerPermission(context, live, settings, cwd, request)
    },
    elicit(params, signal) {
      live.hasSigned = true
      return elicit(context, live, params, settings.permissions.askTimeoutMs, signal)
    },
  }
}

/** Updates that do not count as activity. */
const SILENT: ReadonlySet<SessionUpdate['is']> = new Set(['other', 'health'])

function createUpdateHandler(
  context: TaskContext,
  live: LiveTask,
  { id }: AgentSettings,
  checkUnasked: (call: AgentToolCall) => void,
): (update: SessionUpdate) => void {
  const { journal } = live
  const statuses = new Map<string, string>()
  return update => {
    if (update.is === 'health') live.isBroken = update.isBroken
    else if (update.is === 'text') {
      context.counters.add('output_bytes', { agent: id }, Buffer.byteLength(update.text))
      journal.addText(update.text)
    } else if (update.is === 'content') journal.addText(formatPlaceholder(update.content))
    else if (update.is === 'tool') onToolCall(live, update.call, statuses, checkUnasked)
    else if (update.is === 'plan') recordPlan(live, update.entries)
    else if (update.is === 'usage') journal.setUsage(update.usage)
  }
}

function onToolCall(
  live: LiveTask,
  call: AgentToolCall,
  statuses: Map<string, string>,
  checkUnasked: (call: AgentToolCall) => void,
): void {
  recordEffect(live, call)
  for (const file of listChangedFiles(call)) live.journal.addChangedFile(file)
  if (statuses.get(call.id) === call.status) return
  if (statuses.size < MAX_CALLS) statuses.set(call.id, call.status)
  checkUnasked(call)
  const name = `${call.kind ?? 'other'}: ${call.title}`
  live.journal.addEvent('tool', `${name} – ${call.status}`)
  live.journal.setProgress(name)
}

function recordPlan({ journal }: LiveTask, entries: readonly JsonObject[]): void {
  const steps = entries.map(({ status, content }) => `[${String(status)}] ${String(content)}`)
  journal.addEvent('plan', steps.join('; '))
  const current = entries.findIndex(({ status }) => status === 'in_progress')
  if (current >= 0)
    journal.setProgress(`step ${current + 1} of ${entries.length}: ${String(entries[current]?.content)}`)
}

/** Only text output is stored; other content becomes a placeholder. */
function formatPlaceholder({ type, uri, name }: JsonObject): string {
  const label = typeof uri === 'string' ? uri : typeof name === 'string' ? name : ''
  return `\n[${String(type)}${label === '' ? '' : ` ${label}`}]\n`
}

/** Answers a permission request by rule or by asking the owner. Never rejects, and grants at most once. */
async function answerPermission(
  context: TaskContext,
  live: LiveTask,
  settings: AgentSettings,
  cwd: string,
  request: PermissionRequest,
): Promise<PermissionOutcome> {
  try {
    if (isGone(live, request)) return 'cancelled'
    const verdict = context.parts.containment.decide(request.call, settings.permissions, cwd)
    const decided = verdict.do === 'ask' ? await askPermission(context, live, settings, request, verdict) : verdict
    if (isGone(live, request) || decided === 'ended') return 'cancelled'
    return chooseOption(context, live, settings, request, decided)
  } catch (error) {
    context.environment.log.error('permission check failed; denied', { error })
    return chooseOption(context, live, settings, request, { do: 'deny', by: 'internal gateway error' })
  }
}

/** True if the request was withdrawn or the task ended. */
function isGone({ controller, isLate }: LiveTask, { signal }: PermissionRequest): boolean {
  return controller.signal.aborted || isLate || signal?.aborted === true
}

interface PermissionDecision extends PermissionVerdict {
  /** Answer origin, unless it was a rule. */
  readonly decidedBy?: 'owner' | 'time'
}

async function askPermission(
  context: TaskContext,
  live: LiveTask,
  settings: AgentSettings,
  { call, signal }: PermissionRequest,
  { by }: PermissionVerdict,
): Promise<PermissionDecision | 'ended'> {
  const message = formatPermissionQuestion(settings.id, call, context.environment.hide)
  const question = { kind: 'permission', message, schema: SCHEMA } as const
  const outcome = await askOwner(context, live, question, settings.permissions.askTimeoutMs, signal)
  if (outcome === 'ended') return 'ended'
  if (outcome === 'late') return { do: 'deny', by: 'approval timed out', decidedBy: 'time' }
  const isAllowed = outcome.action === 'accept' && outcome.content.decision === ALLOW
  return {
    do: isAllowed ? 'allow' : 'deny',
    by: `${by}, ${isAllowed ? 'allowed' : 'denied'} by the owner`,
    decidedBy: 'owner',
  }
}

function chooseOption(
  context: TaskContext,
  live: LiveTask,
  settings: AgentSettings,
  { call, options }: PermissionRequest,
  decided: PermissionDecision,
): PermissionOutcome {
  const { journal } = live
  const findOption = (kind: string): string | undefined => options.find(option => option.kind === kind)?.optionId
  const allowing = decided.do === 'allow' ? findOption('allow_once') : undefined
  const outcome = allowing === undefined ? 'denied' : 'allowed'
  const line = `${formatCallLine(call, context.environment.hide)} (${decided.by})`
  context.environment.record?.({
    kind: 'permission',
    name: formatCallLine(call, context.environment.hide),
    outcome,
    fields: { agent: settings.id, task: live.record.id, by: decided.by },
  })
  context.counters.add('permissions', { agent: settings.id, outcome, kind: call.kind ?? 'unknown' })
  if (allowing !== undefined) {
    // Record first: the action may happen even if the gateway crashes.
    recordEffect(live, call)
    journal.addEvent('permission', `allowed: ${line}`)
    return { optionId: allowing }
  }
  const reason = decided.do === 'allow' ? `${line}: no allow-once option was offered` : line
  journal.addEvent('permission', `denied: ${reason}`)
  live.deniedBy = decided.decidedBy ?? 'policy'
  journal.addDenial(formatLine(context, reason))
  const refusing = findOption('reject_once') ?? findOption('reject_always')
  return refusing === undefined ? 'cancelled' : { optionId: refusing }
}

/** Records on disk, once, that the agent may have changed something; no other agent may start over then. */
function recordEffect({ journal }: LiveTask, { kind }: AgentToolCall): void {
  if (kind === undefined || !HARMLESS.has(kind)) journal.markEffect()
}

/** Lists the files that a call changed. */
function listChangedFiles({ kind, status, paths, content }: AgentToolCall): readonly string[] {
  if (status !== 'completed') return []
  const diffs = content
    .map(({ type, path }) => (type === 'diff' && typeof path === 'string' ? path : undefined))
    .filter(path => path !== undefined)
  return kind !== undefined && CHANGING.has(kind) ? dropBareNames([...paths, ...diffs]) : diffs
}

/** Drops bare file names if a full path is present: some agents report both. */
function dropBareNames(files: readonly string[]): readonly string[] {
  return files.filter(file => file.startsWith('/') || !files.some(other => other.endsWith(`/${file}`)))
}
