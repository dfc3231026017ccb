import { findTools, searched } from '../../../plugins/surface/answers.ts'
import type { Surface } from '../../../plugins/surface/shown.ts'
import type { CatalogEntry } from '../../../src/plugin.ts'
import { liveTasks } from '../../fixtures/live-mcp-tool/index.ts'
import { gradedQueries, gradedTools } from '../../fixtures/mcpproxy-go/index.ts'
import { share, type Figure } from './figures.ts'
import { entryOf, liveEntries, shownIn } from './tools.ts'

const AT = [5, 10] as const
const WANTED = { 5: 0.8, 10: 0.9 } as const
const NO_RANK = () => Promise.resolve(undefined)

/** A tool that a task needs, and what its searches found. */
interface Needed {
  readonly tool: string
  readonly byStep: readonly (readonly string[])[]
  readonly byAny: readonly (readonly string[])[]
  /** Where a task has as many steps as tools, each step is about its own. */
  readonly own: readonly string[] | undefined
  /** Texts of the answers to its steps. */
  readonly texts: readonly string[]
  /** True in every second task: nothing was chosen by how well these are found. */
  readonly isHeldOut: boolean
}

/**
 * Tools that tasks of LiveMCPBench need, found by the numbered steps of these tasks: a tool counts where any step of its task finds it. A
 * name that several servers have is right with each.
 */
export async function steps(): Promise<Figure[]> {
  const needed = await neededTools()
  const paired = needed.filter(({ own }) => own !== undefined)
  const heldOut = needed.filter(({ isHeldOut }) => isHeldOut)
  const named = needed.filter(({ tool, texts }) => texts.some(text => isNamed(text, tool)))
  return [
    ...AT.map(at =>
      share(
        `LiveMCPTool, ${needed.length} tools by the steps of their tasks: recall@${at}`,
        recall(needed, 'byStep', at),
        WANTED[at],
        true,
      ),
    ),
    ...AT.map(at =>
      share(`… ${heldOut.length} of the half that was held out: recall@${at}`, recall(heldOut, 'byStep', at)),
    ),
    share('… named in the answer to one of the steps', named.length / needed.length),
    ...AT.map(at => share(`… by the steps or the whole question: recall@${at}`, recall(needed, 'byAny', at))),
    ...AT.map(at =>
      share(
        `… ${paired.length} tools by their own step, where there is one each: recall@${at}`,
        paired.filter(({ tool, own }) => own?.slice(0, at).includes(tool) === true).length / paired.length,
      ),
    ),
  ]
}

async function neededTools(): Promise<Needed[]> {
  const entries = liveEntries()
  const { surface } = shownIn(entries, 'search')
  const known = new Set(entries.map(({ original }) => original))
  const found = async (query: string): Promise<string[]> =>
    (await foundBy(surface, query, 10)).map(({ original }) => original)
  const tasks = liveTasks().map(async ({ steps: own, question, tools }, place) => {
    const byStep = await Promise.all(own.map(found))
    const byAny = [...byStep, await found(question)]
    const texts = await Promise.all(own.map(async step => answerTo(surface, step)))
    const isPaired = own.length === tools.length
    return tools
      .filter(tool => known.has(tool))
      .map((tool, at) => {
        return {
          tool,
          byStep,
          byAny,
          own: isPaired ? byStep[at] : undefined,
          texts,
          isHeldOut: place % 2 === 1,
        }
      })
  })
  return (await Promise.all(tasks)).flat()
}

function foundBy(surface: Surface, query: string, limit: number): Promise<readonly CatalogEntry[]> {
  return findTools(surface, { query, server: undefined, limit }, NO_RANK)
}

async function answerTo(surface: Surface, query: string): Promise<string> {
  const answer = await searched(surface, { query }, NO_RANK)
  return 'result' in answer ? answer.result.bytes().toString() : ''
}

function recall(needed: readonly Needed[], by: 'byStep' | 'byAny', at: number): number {
  const found = needed.filter(one => one[by].some(list => list.slice(0, at).includes(one.tool)))
  return found.length / needed.length
}

/** With its arguments or among the others that may fit. */
function isNamed(text: string, tool: string): boolean {
  return ['(', ',', '.'].some(end => text.includes(`__${tool}${end}`))
}

/** The 47 graded queries of mcpproxy-go over its 45 tools: the mean part of the right tools among the first. */
export async function graded(): Promise<Figure[]> {
  const { surface } = shownIn(
    gradedTools().map(({ server, tool, description }) => entryOf(server, { name: tool, description })),
    'search',
  )
  const queries = gradedQueries()
  const recallAt = async (at: number): Promise<number> => {
    const parts = queries.map(async ({ query, right }) => {
      const list = await foundBy(surface, query, at)
      const found = new Set(list.map(({ upstream, original }) => `${upstream}:${original}`))
      return right.filter(id => found.has(id)).length / right.length
    })
    return (await Promise.all(parts)).reduce((all, part) => all + part, 0) / parts.length
  }
  return [
    share(`mcpproxy-go, ${queries.length} graded queries (theirs 0.68): recall@5`, await recallAt(5), 0.78),
    share('… recall@10', await recallAt(10)),
  ]
}
