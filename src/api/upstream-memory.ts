/**
 * What is remembered of one upstream from one run of the gateway to the next: plain JSON, each part under the name of who
 * keeps it. What is kept here may be shown to every caller, so nothing goes in that was meant for some of them.
 */
export interface UpstreamMemory {
  /** What was kept last; undefined when there is nothing, or when the upstream is configured in another way now. */
  read(part: string): unknown
  /** Keeps a value in the place of the one before. It is on the disk soon, or at the end. Never throws. */
  write(part: string, value: unknown): void
  /** Drops all parts. */
  forget(): void
}
