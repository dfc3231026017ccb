import type { TestContext } from 'node:test'
import AxeBuilder from 'axe-core'
import type { Browser, Page } from 'playwright-core'
import { startChromium } from './chromium.ts'

/** A page in a browser of its own, with all that it asked for and said. */
export interface OpenedPage {
  readonly page: Page
  readonly requests: string[]
  readonly problems: string[]
}

interface View {
  readonly width?: number
  readonly dark?: boolean
}

export async function openPage(t: TestContext, link: string): Promise<OpenedPage> {
  return openIn(await startChromium(t), link)
}

export async function openIn(
  browser: Browser,
  link: string,
  { width = 1440, dark = false }: View = {},
): Promise<OpenedPage> {
  const context = await browser.newContext({
    viewport: { width, height: 900 },
    colorScheme: dark ? 'dark' : 'light',
    reducedMotion: 'reduce',
  })
  const page = await context.newPage()
  const requests: string[] = []
  const problems: string[] = []
  page.on('request', request => requests.push(request.url()))
  page.on('pageerror', error => problems.push(error.message))
  page.on('console', message => {
    if (['error', 'warning'].includes(message.type())) problems.push(message.text())
  })
  await page.goto(link)
  await page.locator('h1').waitFor()
  return { page, requests, problems }
}

/** Rules of axe that do not hold, with where. */
export async function violations(page: Page): Promise<string[]> {
  await page.evaluate(AxeBuilder.source)
  const found = await page.evaluate(async () => {
    const axe = (globalThis as unknown as { axe: typeof AxeBuilder }).axe
    const { violations: list } = await axe.run()
    return list.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`)
  })
  return found
}
