#ifndef KR_TSAN_H
#define KR_TSAN_H

/* Is this built with the thread sanitizer? GCC says so by a name, Clang when it is asked. */
#if defined(__SANITIZE_THREAD__)
#define KR_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define KR_TSAN 1
#endif
#endif

#endif
