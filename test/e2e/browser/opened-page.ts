import type { TestContext } from 'node:test'
import type { Page } from 'playwright-core'
import { startChromium } from './chromium.ts'

/** A page in a browser of its own, with all that it asked for and said. */
export interface OpenedPage {
  readonly page: Page
  readonly requests: string[]
  readonly problems: string[]
}

export async function openPage(t: TestContext, link: string): Promise<OpenedPage> {
  const context = await (await startChromium(t)).newContext({ reducedMotion: 'reduce' })
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
