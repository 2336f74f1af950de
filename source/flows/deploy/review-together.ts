import type { Review } from '../../session/session.ts';
import { reviewOf, summaryOf } from '../../stack/plan/plan-text.ts';
import type { ReadyPlan } from './plan-component.ts';

/** Each plan has its sections and findings under its name. Remedies belong to a form, and only the first plan has one. */
export function reviewTogether(ready: readonly ReadyPlan[], { title, label }: { title: string; label: string }): Review {
  const reviews = ready.map(({ plan, findings }) => ({ id: plan.component, review: reviewOf(plan, findings) }));
  const blocked = reviews.flatMap(({ review }) => review.actions.flatMap((action) => action.blocked ?? []))[0];
  return {
    id: 'plans',
    title,
    sections: reviews.flatMap(({ id, review }) => review.sections.map((section) => ({ ...section, title: `${id}: ${section.title}` }))),
    findings: reviews.flatMap(({ id, review }, index) =>
      review.findings.map(({ remedy, ...finding }) => ({
        ...finding,
        ...(index === 0 ? { id: finding.id, ...(remedy !== undefined && { remedy }) } : { id: `${id}:${finding.id}` }),
      })),
    ),
    summary: summaryOf(ready.map(({ plan }) => plan)),
    actions: [
      { id: 'apply', label, ...(blocked !== undefined && { blocked }) },
      { id: 'cancel', label: 'Leave it' },
    ],
  };
}
